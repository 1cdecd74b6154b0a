const pathIn = (folder: string) => (name: string) => `/${folder}/${name}`

export const railPath = pathIn('rails')
export const receiptPath = pathIn('receipts')
export const workerPath = pathIn('workers')
export const disputePath = pathIn('disputes')
export const jobPath = pathIn('jobs')
export const partnerPath = pathIn('partners')
export const pactPath = pathIn('pacts')
export const articlePath = pathIn('desk')
export const skillPath = pathIn('skills')
export const statementPath = (wallet: string, month: string): string =>
  `${workerPath(wallet)}/statements/${month}`

/** The guide to disputes; the script of the site fills the document and the name of the figure into its example. */
export function disputeFigure({ rail }: { readonly rail: string }, figure = ''): string {
  const named = figure === '' ? '' : `&figure=${figure}`
  return `/docs/disputing?path=/api/v1/rails/${rail}${named}#example`
}
