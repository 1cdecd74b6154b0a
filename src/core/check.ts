export interface Check {
  readonly what: string
  readonly good: boolean
  readonly detail: string
}

export const allGood = (checks: readonly Check[]): boolean => checks.every(({ good }) => good)
