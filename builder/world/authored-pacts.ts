/** `data/pacts`: manifests held by this ledger, and external publications about pacts. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { isErrno } from '../../src/core/errno.ts'
import { checkManifests } from '../../src/core/pact/check.ts'
import type { ReadManifest } from '../../src/core/pact/check.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import { evmAddress, publishedClaims } from '../../src/core/pact/sources.ts'
import type { PublishedPact } from '../../src/core/pact/sources.ts'
import { StrictJsonError, parseStrictJsonText } from '../../src/core/strict-json.ts'
import { readTextIfExists, statFingerprint } from '../cache/stat-fingerprint.ts'
import { readJsonFile } from './authored-file.ts'

export type AuthoredPacts = Awaited<ReturnType<typeof loadAuthoredPacts>>

const pactNumber = z.int().min(1).max(999_999_999)

const pactFile = z.strictObject({
  pact_id: pactNumber,
  title: z.string().min(1).max(200),
  updated_at: z.iso.datetime({ offset: true }),
  source: z.string().min(1).max(500),
})

const publishedFile = z.strictObject({
  noted_on: z.iso.date(),
  note: z.string(),
  pacts: z.array(
    publishedClaims.extend({
      pact_id: pactNumber,
      published_as: z.enum(['settled', 'in_flight']),
      title: z.string().min(1).max(200),
      source: z.string().min(1).max(300),
      source_url: z.url().optional(),
      contract: evmAddress.optional(),
    }),
  ),
})

/** The directory may be missing. @throws Error that names the file and the field */
export async function loadAuthoredPacts(dir: string) {
  const entries = await readdir(dir, { withFileTypes: true }).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  })
  const numbers = entries
    .filter((entry) => entry.isDirectory() && /^[1-9]\d{0,8}$/.test(entry.name))
    .map(({ name }) => Number(name))
    .sort((a, b) => a - b)
  const [manifests, published, reproduceScript] = await Promise.all([
    Promise.all(numbers.map(async (pactId) => await heldManifests(dir, pactId))),
    publishedPacts(join(dir, 'published.json')),
    // Recomputes a work hash; contains a placeholder for the pact.
    readTextIfExists(join(dir, 'reproduce.mjs')),
  ])
  return { manifests, published, reproduceScript }
}

async function heldManifests(dir: string, pactId: number) {
  const at = (file: string) => join(dir, String(pactId), file)
  const [about, specText, instanceText] = await Promise.all([
    readJsonFile(at('pact.json'), pactFile),
    readTextIfExists(at('spec.json')),
    readTextIfExists(at('instance.json')),
  ])
  const { pact_id: id, title, updated_at: updatedAt } = about
  if (id !== pactId) throw new Error(`${at('pact.json')}: pact_id is not the name of the directory`)
  const read = { spec: manifestOf(specText), instance: manifestOf(instanceText) }
  const identity = { pactId, chainId: pactEscrow.chainId, contractAddress: pactEscrow.address }
  const checked = checkManifests(read, identity)
  return {
    pactId,
    title,
    checked,
    updatedAtMs: Date.parse(updatedAt),
    /** As served; null when the file is missing or not JSON. */
    specText: 'json' in read.spec ? specText : null,
    instanceText: 'json' in read.instance ? instanceText : null,
  }
}

function manifestOf(text: string | null): ReadManifest {
  if (text === null) return { unreachable: 'the file is missing' }
  try {
    return { json: parseStrictJsonText(text) }
  } catch (error) {
    if (error instanceof StrictJsonError) return { malformed: error.message }
    throw error
  }
}

async function publishedPacts(path: string): Promise<readonly PublishedPact[]> {
  if (statFingerprint(path) === '') return []
  const { noted_on: notedOn, pacts } = await readJsonFile(path, publishedFile)
  return pacts.map(
    ({ pact_id, published_as, title, source, source_url, contract, worker, ...claims }) => ({
      pactId: pact_id,
      publishedAs: published_as,
      title,
      source,
      sourceUrl: source_url ?? null,
      notedOn,
      contract: contract ?? pactEscrow.address,
      claims: worker === undefined ? claims : { ...claims, worker: worker.toLowerCase() },
    }),
  )
}
