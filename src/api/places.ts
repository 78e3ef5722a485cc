import type { Words } from '../core/wire.ts'

/** Where monitoring answers: at two places, of which the document tells the first. */
export const monitorPlaces = ({ monitor }: Words): readonly [string, string] => [
  monitor,
  `/api${monitor}`,
]

/** What `group` makes for each of the places where monitoring answers. */
export const atBothPlaces = <T>(words: Words, group: (place: string) => T): T[] =>
  monitorPlaces(words).map((place) => group(place))
