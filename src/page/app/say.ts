// What was done is said once, in a corner, and read out.

let heard: (text: string) => void = () => {}

/** Who shows what is said. */
export function onSay(then: (text: string) => void): void {
  heard = then
}

/** Says that something was done. */
export const say = (text: string): void => heard(text)
