/** An act of a key on the inbox page. */
export type KeyAct = (typeof KEYS)[number]['act']

/** The keys of the inbox, in the order of the help. `keys` are values of `KeyboardEvent.key`. */
export const KEYS = [
  { act: 'next', keys: ['j', 'ArrowDown'], shown: ['j', '↓'], does: 'Next match', group: 'Move' },
  {
    act: 'previous',
    keys: ['k', 'ArrowUp'],
    shown: ['k', '↑'],
    does: 'Previous match',
    group: 'Move',
  },
  {
    act: 'open',
    keys: ['o', 'Enter'],
    shown: ['o', 'Enter'],
    does: 'Open and read',
    group: 'Move',
  },
  {
    act: 'back',
    keys: ['Escape'],
    shown: ['Esc'],
    does: 'Back to the list, or clear the selection',
    group: 'Move',
  },
  { act: 'first', keys: ['Home'], shown: ['Home'], does: 'First match', group: 'Move' },
  { act: 'last', keys: ['End'], shown: ['End'], does: 'Last loaded match', group: 'Move' },
  {
    act: 'page_down',
    keys: ['PageDown'],
    shown: ['Page down'],
    does: 'A page down',
    group: 'Move',
  },
  { act: 'page_up', keys: ['PageUp'], shown: ['Page up'], does: 'A page up', group: 'Move' },
  { act: 'fresh', keys: ['.'], shown: ['.'], does: 'Show new matches', group: 'Move' },
  { act: 'dismiss', keys: ['e'], shown: ['e'], does: 'Dismiss', group: 'Decide' },
  { act: 'star', keys: ['s'], shown: ['s'], does: 'Star or unstar', group: 'Decide' },
  { act: 'unread', keys: ['u'], shown: ['u'], does: 'Mark unread or read', group: 'Decide' },
  { act: 'answered', keys: ['a'], shown: ['a'], does: 'Mark as answered', group: 'Decide' },
  { act: 'label', keys: ['l'], shown: ['l'], does: 'Set a label', group: 'Decide' },
  { act: 'mute', keys: ['m'], shown: ['m'], does: 'Mute author, place or phrase', group: 'Decide' },
  { act: 'undo', keys: ['z'], shown: ['z'], does: 'Undo the last action', group: 'Decide' },
  { act: 'select', keys: ['x'], shown: ['x'], does: 'Select or unselect', group: 'Select' },
  {
    act: 'select_range',
    keys: ['X'],
    shown: ['Shift + x'],
    does: 'Select up to here',
    group: 'Select',
  },
  {
    act: 'select_all',
    keys: ['*'],
    shown: ['*'],
    does: 'Select all loaded matches',
    group: 'Select',
  },
  { act: 'visit', keys: ['v'], shown: ['v'], does: 'Open at its source', group: 'Read' },
  { act: 'thread', keys: ['t'], shown: ['t'], does: 'Load the thread', group: 'Read' },
  { act: 'reply', keys: ['r'], shown: ['r'], does: 'Write a reply as a draft', group: 'Read' },
  { act: 'help', keys: ['?'], shown: ['?'], does: 'These keys', group: 'Everywhere' },
] as const

/** Keys that another part of the page reads; the help lists them too. */
export const GENERAL_KEYS = [
  { shown: ['/'], does: 'Search', group: 'Everywhere' },
  { shown: ['g', 'i'], does: 'Go to the inbox', group: 'Everywhere' },
  { shown: ['g', 'o'], does: 'Go to the overview', group: 'Everywhere' },
  { shown: ['g', 'm'], does: 'Go to the monitors', group: 'Everywhere' },
  { shown: ['g', 'd'], does: 'Go to the deliveries', group: 'Everywhere' },
] as const

const ACTS = new Map<string, KeyAct>(KEYS.flatMap((it) => it.keys.map((key) => [key, it.act])))

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
