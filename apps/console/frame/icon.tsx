// The icons of the page, drawn on a grid of 16. They say nothing that a word beside them does not.
const paths = {
  home: 'M2.5 7.5 8 3l5.5 4.5V13h-4V9.5h-3V13h-4z',
  chat: 'M2.5 3.5h11v7.5H7L4 13.5V11H2.5z',
  runs: 'M3 3.5h6M3 8h10M6 12.5h7',
  approvals: 'M8 1.8 13 4v4c0 3-2.1 5.2-5 6.2C5.1 13.2 3 11 3 8V4zM5.8 8l1.6 1.6 3-3.2',
  tools: 'm9.6 6.4 4-1.2A3.6 3.6 0 0 1 9 9.6l-4.3 4.2-2.5-2.5L6.4 7A3.6 3.6 0 0 1 10.8 2.400z',
  connections: 'M5.5 2v3M10.5 2v3M3.5 5h9v2.500a4.5 4.5 0 0 1-9 0zM8 12v2.500',
  sessions: 'M2 4h4l1.5 1.500H14V13H2z',
  policy: 'M8 2v12M4.5 14h7M3 4.500h10M3 4.5 1.2 9h3.600zM13 4.5 11.2 9h3.600z',
  keys: 'M10.5 9a3.5 3.5 0 1 0-3.3-2.300L2 12v2h2.500v-1.500H6V11l1.7-1.700A3.5 3.5 0 0 0 10.5 9zM11 5.500h.01',
  usage: 'M2.5 13.500h11M4 11V8M8 11V3M12 11V6',
  audit: 'M4 2h6l2.5 2.500V14H4zM6 7h4.500M6 9.500h4.500M6 4.500h2',
  models: 'M8 2 13.5 5v6L8 14l-5.5-3V5zM2.5 5 8 8l5.5-3M8 8v6',
  settings:
    'M2 5h7M13 5h1M2 11h1M7 11h7M11 5m-1.8 0a1.8 1.8 0 1 0 3.6 0 1.8 1.8 0 1 0-3.6 0M5 11m-1.8 0a1.8 1.8 0 1 0 3.6 0 1.8 1.8 0 1 0-3.6 0',
  search: 'M7 2.500a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.3 10.3 14 14',
  menu: 'M2 4h12M2 8h12M2 12h12',
  close: 'm3.5 3.5 9 9M12.5 3.500l-9 9',
  copy: 'M5.5 5.500h8v8h-8zM10.5 5.500v-3h-8v8h3',
  download: 'M8 2v8M4.5 7 8 10.500 11.5 7M2.5 13.500h11',
  check: 'm2.5 8.5 3.5 3.5 7.5-8',
  chevron: 'm6 3.5 4.5 4.500L6 12.5',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  light:
    'M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 1v1.500M8 13.500V15M1 8h1.500M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  person: 'M8 2.500a2.7 2.7 0 1 1 0 5.4 2.7 2.7 0 0 1 0-5.400zM2.8 14c.5-2.7 2.5-4.2 5.2-4.200s4.7 1.5 5.2 4.2',
  language:
    'M8 1.500a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM1.5 8h13M8 1.500c2 2 2.8 4 2.8 6.500S10 12.5 8 14.500M8 1.500C6 3.5 5.2 5.5 5.2 8S6 12.5 8 14.5',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
