/** Pages that the builder publishes and the service sends as errors. It sends `/503` for every 5xx status. */
export const notFoundPage = '/404'
export const troublePage = '/503'

/** Addresses that readers guess. */
export const pageAliases: Readonly<Record<string, string>> = {
  '/rails': '/',
  '/flags': '/honesty',
  '/find': '/match',
}
