export type KeyAct = (typeof ROWS)[number][0]

/** Acts with their keys, which are values of `KeyboardEvent.key`, in the order of the help. */
const ROWS = [
  ['next', ['j', 'ArrowDown'], 'Next match', 'Move'],
  ['previous', ['k', 'ArrowUp'], 'Previous match', 'Move'],
  ['open', ['o', 'Enter'], 'Open and read', 'Move'],
  ['back', ['Escape'], 'Back to the list, or clear the selection', 'Move'],
  ['first', ['Home'], 'First match', 'Move'],
  ['last', ['End'], 'Last loaded match', 'Move'],
  ['page_down', ['PageDown'], 'A page down', 'Move'],
  ['page_up', ['PageUp'], 'A page up', 'Move'],
  ['fresh', ['.'], 'Show new matches', 'Move'],
  ['dismiss', ['e'], 'Dismiss', 'Decide'],
  ['star', ['s'], 'Star or unstar', 'Decide'],
  ['unread', ['u'], 'Mark unread or read', 'Decide'],
  ['answered', ['a'], 'Mark as answered', 'Decide'],
  ['label', ['l'], 'Set a label', 'Decide'],
  ['mute', ['m'], 'Mute author, place or phrase', 'Decide'],
  ['undo', ['z'], 'Undo the last action', 'Decide'],
  ['select', ['x'], 'Select or unselect', 'Select'],
  ['select_range', ['X'], 'Select up to here', 'Select'],
  ['select_all', ['*'], 'Select all loaded matches', 'Select'],
  ['visit', ['v'], 'Open at its source', 'Read'],
  ['thread', ['t'], 'Load the thread', 'Read'],
  ['reply', ['r'], 'Write a reply as a draft', 'Read'],
  ['help', ['?'], 'These keys', 'Everywhere'],
] as const

const SHOWN: { [key: string]: string } = {
  ArrowDown: '↓',
  ArrowUp: '↑',
  Escape: 'Esc',
  PageDown: 'Page down',
  PageUp: 'Page up',
  X: 'Shift + x',
}

/** The keys of the inbox, in the order of the help. */
export const KEYS = ROWS.map(([act, keys, does, group]) => ({
  act,
  keys,
  shown: keys.map((key) => SHOWN[key] ?? key),
  does,
  group,
}))

/** Keys that another part of the page reads; the help lists them too. */
export const GENERAL_KEYS = [
  { shown: ['/'], does: 'Search', group: 'Everywhere' },
  { shown: ['g', 'i'], does: 'Go to the inbox', group: 'Everywhere' },
  { shown: ['g', 'o'], does: 'Go to the overview', group: 'Everywhere' },
  { shown: ['g', 'm'], does: 'Go to the monitors', group: 'Everywhere' },
  { shown: ['g', 'd'], does: 'Go to the deliveries', group: 'Everywhere' },
] as const

const ACTS = new Map<string, KeyAct>(ROWS.flatMap(([act, keys]) => keys.map((key) => [key, act])))

/** Acts of keys that a browser or a control uses too, so they count within the list only. */
const OF_LIST: readonly KeyAct[] = ['first', 'last', 'page_down', 'page_up']

type Pressed = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>

/** Place of the focus: a field or dialog takes all keys, a control its own, the list none. */
export type FocusPlace = 'typing' | 'control' | 'reader' | 'list' | 'page'

/** The act of a key; null: none, the key keeps its usual effect. `letters` false: single letters are switched off. */
export function actOf(
  { key, ctrlKey, metaKey, altKey }: Pressed,
  place: FocusPlace,
  letters: boolean,
): KeyAct | null {
  if (place === 'typing' || ctrlKey || metaKey || altKey) return null
  const act = ACTS.get(key) ?? null
  if (act === null) return null
  if (OF_LIST.includes(act) && place !== 'list') return null
  // Enter presses the focused control; arrows scroll the text that is read.
  const plain = key.length > 1
  if (plain && act !== 'back' && place !== 'list' && !(place === 'page' && act !== 'open'))
    return null
  return !letters && !plain && act !== 'help' ? null : act
}
