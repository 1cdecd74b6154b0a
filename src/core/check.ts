/** One step of a verification: what was checked, with which result. */
export interface Check {
  readonly what: string
  readonly good: boolean
  readonly detail: string
}

export const check = (what: string, good: boolean, detail: string): Check => ({
  what,
  good,
  detail,
})

export const allGood = (checks: readonly Check[]): boolean => checks.every(({ good }) => good)
