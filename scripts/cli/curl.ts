/** A prepared request as a command for a POSIX shell. It holds signatures, which are good once, and no key. */
import type { PreparedRequest } from '../../src/client/prepare.ts'

export function curlOf({ method, url, headers, body }: PreparedRequest): string {
  const parts = [
    'curl --silent --show-error',
    ...(method === 'GET' ? [] : [`--request ${method}`]),
    ...Object.entries(headers).map(([name, value]) => `--header ${quoted(`${name}: ${value}`)}`),
    ...(body === null ? [] : [`--data-binary ${quoted(body)}`]),
    quoted(url),
  ]
  return `${parts.join(' \\\n  ')}\n`
}

/** Single quotes keep everything but themselves. A body that begins with `@` would name a file: JSON never does. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
