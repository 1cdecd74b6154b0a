/** One step of a verification, with its result. */
export interface Check {
  readonly what: string
  readonly good: boolean
  readonly detail: string
  /** Not checked: `open` could be checked, `note` is not required. Printed instead of `good`. */
  readonly label?: 'open' | 'note'
}

/** `ifBad` is the detail of a bad result; the default is the same detail. */
export const check = (what: string, good: boolean, detail: string, ifBad = detail): Check => ({
  what,
  good,
  detail: good ? detail : ifBad,
})

export const allGood = (checks: readonly Check[]): boolean => checks.every(({ good }) => good)
