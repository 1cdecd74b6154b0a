/** Where readers find the log, below the address of the site. */
export const logPath = (file: string): string => `log/${file}`

export const checkpointHeaders = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'public, max-age=5',
}
