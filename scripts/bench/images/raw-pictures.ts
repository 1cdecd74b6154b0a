/** The pictures of a round as `node:http` alone answers them: what a repeat could cost at best. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { freePort, scriptPath, startServer } from '../processes.ts'
import type { ServerProcess } from '../processes.ts'

export interface AnsweredPicture {
  readonly url: string
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

/** What Node adds by itself. */
const ofConnection: ReadonlySet<string> = new Set(['date', 'connection', 'keep-alive'])

/** A server that has each of the answers ready under the target it was asked by. */
export async function serveRaw(
  dir: string,
  answered: readonly AnsweredPicture[],
): Promise<ServerProcess> {
  const folder = mkdtempSync(join(dir, 'raw-'))
  const answers = answered.map(({ url, rawHeaders, body }, at) => {
    const bodyFile = join(folder, `${at}.png`)
    writeFileSync(bodyFile, body)
    return { target: targetOf(url), status: 200, headers: lasting(rawHeaders), bodyFile }
  })
  const file = join(folder, 'answers.json')
  writeFileSync(file, JSON.stringify(answers))
  const port = await freePort()
  const script = scriptPath(new URL('../peers/raw-http.js', import.meta.url))
  return await startServer({
    program: process.execPath,
    args: [script, String(port), file],
    port,
    readyPath: answers[0]?.target ?? '/',
  })
}

export function targetOf(url: string): string {
  const { pathname, search } = new URL(url)
  return `${pathname}${search}`
}

function lasting(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter(
    (_, at) => !ofConnection.has((rawHeaders[at - (at % 2)] ?? '').toLowerCase()),
  )
}
