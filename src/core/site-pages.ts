/** Paths of pages that the builder publishes and the service answers in place of others. */

/** What a person sees where there is nothing. */
export const notFoundPage = '/404'
/** What a person sees where the ledger cannot answer. */
export const troublePage = '/503'

/**
 * The page that shows one thing of the API, by the path under which things of its kind are found. The newest of each
 * kind have a published page there; for all others the service answers this page, which asks the API.
 */
export const viewPages = {
  '/receipts': '/view/receipt',
  '/workers': '/view/worker',
  '/jobs': '/view/job',
  '/partners': '/view/partner',
} as const

export type ViewedKind = keyof typeof viewPages
