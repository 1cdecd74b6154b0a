/** `12,345`, `1,204.50`; takes the result of `toFixed` or `String`. */
export function grouped(digits: string): string {
  const [whole = '', fraction] = digits.split('.')
  const groups = whole.replace(/\B(?=(?:\d{3})+$)/g, ',')
  return fraction === undefined ? groups : `${groups}.${fraction}`
}

/** `1 rail`, `1,204 rails`. */
export function counted(count: number, noun: string): string {
  return withNoun(grouped(String(count)), count, noun)
}

/** For logs and commits: `1204 rails`. */
export function numbered(count: number, noun: string): string {
  return withNoun(String(count), count, noun)
}

function withNoun(digits: string, count: number, noun: string): string {
  return `${digits} ${noun}${count === 1 ? '' : 's'}`
}
