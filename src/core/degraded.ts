/** The reads of one key: under way, and waiting for one of those to end. */
export type Crowd = { in_flight: number; waiting: number }

/** How many of each there may be; 0 is no limit. */
export type Room = { in_flight: number; waiting: number }

/** What becomes of one more read. */
export type Admission = 'go' | 'wait' | 'refuse'

/** Lets one more go, wait, or neither. */
export function admit(crowd: Crowd, room: Room): Admission {
  if (room.in_flight === 0 || crowd.in_flight < room.in_flight) return 'go'
  return room.waiting === 0 || crowd.waiting < room.waiting ? 'wait' : 'refuse'
}
