/** Pages that the builder publishes and the service sends as error responses. */
export const notFoundPage = '/404'
/** For 5xx. */
export const troublePage = '/503'
