/** Pages that the builder publishes and the service sends as errors; `/503` for all 5xx. */
export const notFoundPage = '/404'
export const troublePage = '/503'
