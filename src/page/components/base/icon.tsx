/** SVG paths on a 24 × 24 grid, drawn in the colour of the surrounding text. */
const PATHS = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM14 4v3h6V4zM4 20h6v-3H4z',
  monitors: 'M3 12h4l3-7 4 14 3-7h4',
  deliveries: 'M4 12 20 4l-5 16-4-6zM11 14l9-10',
  webhooks: 'M9 7a3 3 0 1 1 4 3l-3 6M8 12a4 4 0 1 0 3 6h6M15 11a4 4 0 1 1 1 7',
  usage: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  drafts: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  sources: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
  pool: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c1-5 4-6 8-6s7 1 8 6',
  customers:
    'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 20c0-4 3-6 6-6s6 2 6 6M16 11a3 3 0 1 0-1-6M17 14c3 0 5 2 5 6',
  settings:
    'M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.2 2.2M16.2 16.2l2.2 2.2M5.6 18.4l2.2-2.2M16.2 7.8l2.2-2.2',
  audit: 'M6 3h9l4 4v14H6zM9 11h7M9 15h7M9 7h3',
  inbox: 'M4 5h16v14H4zM4 14h5l1 2h4l1-2h5',
  star: 'M12 4l2.5 5.2 5.7.8-4.1 4 1 5.7-5.1-2.7-5.1 2.7 1-5.7-4.1-4 5.7-.8z',
  dismiss: 'M4 7h16v13H4zM3 4h18v3H3zM9 13l2 2 4-4',
  reply: 'M9 7 4 12l5 5M4 12h10c4 0 6 2 6 6',
  unread: 'M4 6h16v12H4zM4 7l8 6 8-6',
  label: 'M4 4h8l8 8-8 8-8-8zM8.5 8.5h.01',
  mute: 'M5 10v4h3l5 4V6l-5 4zM17 9l5 6M22 9l-5 6',
  up: 'M6 15l6-6 6 6',
  down: 'M6 9l6 6 6-6',
  back: 'M15 5l-7 7 7 7',
  filter: 'M4 6h16M7 12h10M10 18h4',
  history: 'M4 12a8 8 0 1 0 3-6M4 4v4h4M12 8v4l3 2',
  keyboard: 'M3 7h18v11H3zM7 11h.01M11 11h.01M15 11h.01M8 15h8',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  check: 'M5 13l4 4L19 7',
  plus: 'M12 5v14M5 12h14',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5',
  out: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  leave: 'M15 4h5v16h-5M10 8l-4 4 4 4M6 12h10',
  light:
    'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M5 19l1.5-1.5M17.5 6.5 19 5',
  dark: 'M20 14A8 8 0 1 1 10 4a6.5 6.5 0 0 0 10 10z',
  auto: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18',
} as const

export type IconName = keyof typeof PATHS

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d={PATHS[name]} />
  </svg>
)
