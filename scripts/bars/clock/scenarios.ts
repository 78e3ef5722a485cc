const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Behaviour of a clock, by true time. */
export type Scenario = {
  name: string
  /** Time zone of the process and start instant of each run. */
  runs: readonly { zone: string; start: string }[]
  /** Offset of forumd's clock at the start. */
  skew_ms: number
  /** Clock changes: time after the start and step, in order. */
  steps: readonly { at_ms: number; by_ms: number }[]
}

// An unusual hour and zone, so that no result is right by coincidence.
const ANYWHERE = [{ zone: 'Asia/Kathmandu', start: '2026-03-03T06:00:00Z' }]
const TO_MIDNIGHT = 18 * HOUR
const STEADY = { runs: ANYWHERE, skew_ms: 0, steps: [] }

/**
 * Wrong from the middle of the second day, while thousands are delivered and retries wait, to the middle of the
 * third.
 */
const wrong = (name: string, by_ms: number): Scenario => ({
  ...STEADY,
  name,
  steps: [
    { at_ms: 33 * HOUR + 13 * MINUTE, by_ms },
    { at_ms: 52 * HOUR + 7 * MINUTE, by_ms: -by_ms },
  ],
})

/** Forward and back, each time while a retry is pending. */
const restless = [3, 31, 130, 310, 790, 5000].flatMap((by_s, n) => [
  { at_ms: (2 + 3 * n) * HOUR + 2 * MINUTE, by_ms: by_s * SECOND },
  { at_ms: (3 + 3 * n) * HOUR + 11 * MINUTE, by_ms: -2 * by_s * SECOND },
  { at_ms: (4 + 3 * n) * HOUR + 5 * MINUTE, by_ms: by_s * SECOND },
])

/** The twelve scenarios of the reliability test. */
export const SCENARIOS: readonly Scenario[] = [
  wrong('an hour ahead', HOUR),
  wrong('an hour back', -HOUR),
  wrong('a day ahead', DAY),
  wrong('a day back', -DAY),
  wrong('eight days ahead', 8 * DAY),
  wrong('eight days back', -8 * DAY),
  // Each begins on the day before a daylight-saving change of its zone.
  {
    ...STEADY,
    name: 'summer time begins',
    runs: [
      { zone: 'America/New_York', start: '2026-03-07T06:00:00Z' },
      { zone: 'Europe/Berlin', start: '2026-03-28T06:00:00Z' },
      { zone: 'Australia/Lord_Howe', start: '2026-10-03T06:00:00Z' },
    ],
  },
  {
    ...STEADY,
    name: 'summer time ends',
    runs: [
      { zone: 'America/New_York', start: '2026-10-31T06:00:00Z' },
      { zone: 'Europe/Berlin', start: '2026-10-24T06:00:00Z' },
      { zone: 'Australia/Lord_Howe', start: '2026-04-04T06:00:00Z' },
    ],
  },
  {
    ...STEADY,
    name: 'over midnight and back',
    steps: [
      { at_ms: TO_MIDNIGHT - 40 * SECOND, by_ms: 90 * SECOND },
      { at_ms: TO_MIDNIGHT + 30 * MINUTE, by_ms: -90 * SECOND },
      { at_ms: TO_MIDNIGHT + DAY + 20 * SECOND, by_ms: -90 * SECOND },
      { at_ms: TO_MIDNIGHT + DAY + 30 * MINUTE, by_ms: 90 * SECOND },
    ],
  },
  {
    ...STEADY,
    name: 'the end of 32 bits',
    runs: [{ zone: 'Asia/Kathmandu', start: '2038-01-18T06:00:00Z' }],
  },
  { ...STEADY, name: '400 s ahead from the start', skew_ms: 400 * SECOND },
  { ...STEADY, name: 'steps while retries wait', steps: restless },
]
