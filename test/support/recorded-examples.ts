/** Examples of OpenAPI, from calls to a demo ledger. */
import { writeFileSync } from 'node:fs'

import { z } from 'zod'

import { firstRows } from '../../builder/site/docs/reference.ts'
import { routes } from '../../src/contract/routes.ts'
import type { SentCall } from './every-operation.ts'

const file = new URL('../../src/contract/openapi/examples.json', import.meta.url)

/** The OpenAPI document is not an example in itself. */
export function shown(id: string, answer: unknown): unknown {
  return id === 'getOpenApi' ? z.object({ openapi: z.string() }).parse(answer) : answer
}

/** Writes those members that the schema describes. */
export function recordExamples(calls: readonly SentCall[], siteUrl: string): void {
  const { port } = new URL(siteUrl)
  const ownLinks = new RegExp(`http://localhost:${port}`, 'g')
  const ownDid = new RegExp(`localhost%3A${port}`, 'g')
  const entries = routes.flatMap(({ id, answers }) => {
    const own = calls.filter((call) => call.id === id)
    const good = own.find(({ status }) => status < 300)
    if (good === undefined) return []
    const recorded = own.map(({ status, answer }) => {
      const { schema = z.unknown(), contentType } = answers[status] ?? {}
      const described = contentType === undefined ? schema.parse(answer) : answer
      return [status, firstRows(z.json().parse(shown(id, described)))] as const
    })
    const body = good.body === null ? {} : { body: good.body }
    const entry = JSON.stringify({ ...body, answers: Object.fromEntries<unknown>(recorded) })
    const shared = entry
      .replaceAll(ownLinks, 'https://demo.example')
      .replaceAll(ownDid, 'demo.example')
    // The schema of the DID document also takes members that it does not describe.
    return [`  "${id}": ${shared.replaceAll('"demo":true,', '')}`]
  })
  writeFileSync(file, `{\n${entries.join(',\n')}\n}\n`)
}
