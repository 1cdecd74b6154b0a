/** Colours of the style sheet for drawings that cannot use it: files of their own and preview images. */
export const palette = {
  paper: ['#f7f6ee', '#11150f'],
  leaf: ['#fffefa', '#191e18'],
  rule: ['#d3d7c6', '#333c33'],
  ink: ['#16231b', '#e6ece4'],
  soft: ['#4a584e', '#a9b7ac'],
  money: ['#0d5f3a', '#7fd6a4'],
  'money-wash': ['#dcecdb', '#1c3728'],
  care: ['#774a00', '#f0c070'],
  doubt: ['#9a2a18', '#ffa192'],
  margin: ['#c4766a', '#94574d'],
} as const satisfies Readonly<Record<string, readonly [light: string, dark: string]>>
