/** `admin platforms`: a platform is added only after the holder of its key has signed a fresh text. */
import { loadReference } from '../../../src/actions/reference.ts'
import { verifyEd25519 } from '../../../src/auth/ed25519.ts'
import { SigningKeyError, publicKeyFromBase64 } from '../../../src/auth/signing-key.ts'
import { platform } from '../../../src/contract/schemas/platform.ts'
import type { Platform } from '../../../src/contract/schemas/platform.ts'
import { dayMs, isoTime, parseTime } from '../../../src/core/time.ts'
import { replaceFile } from '../../../src/files/durable.ts'
import { UsageError, orUsageError, parseOrUsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { exitCodes, table } from '../output.ts'
import { dataDir, platformsPath, readPlatforms } from '../platforms.ts'
import type { Session } from '../session.ts'
import { logAct, settingsOf } from './settings.ts'

/** How long a platform may take to sign the text. */
const proofLifeMs = dayMs
/** Slugs that the ledger uses for its own receipts. */
const reserved: ReadonlySet<string> = new Set(['job-exchange'])

export function listPlatforms(session: Session, input: Input): Promise<void> {
  const platforms = readPlatforms(platformsPath(input.text('data')))
  const columns = ['platform', 'name', 'rails', 'added_at', 'revoked_at', 'public_key']
  session.print({ count: platforms.length, platforms }, table(columns, platforms))
  return Promise.resolve()
}

/** Without a proof it prints the text for the platform to sign; with a proof it adds the platform. */
export async function addPlatform(session: Session, input: Input): Promise<number> {
  const nowMs = session.clock.now()
  const entry = await newEntry(input, nowMs)
  const proof = input.text('proof')
  const challengedAt = input.text('challenged-at')
  if (proof === undefined || challengedAt === undefined) {
    const at = isoTime(nowMs)
    const text = challengeText(session, entry, at)
    session.print(
      { challenged_at: at, text },
      `The platform signs exactly this text with its key (no newline at the end):\n\n${text}\n\nThen add --challenged-at ${at} --proof <base64>, within a day. Check also that the platform shows this key on its own site.\n`,
    )
    return exitCodes.ok
  }
  const atMs = parseTime(challengedAt)
  if (atMs === null || atMs > nowMs || nowMs - atMs > proofLifeMs) {
    throw new UsageError('--challenged-at is not a time of the last 24 hours')
  }
  const signature = Buffer.from(proof.replace(/^ed25519:/, ''), 'base64')
  const text = challengeText(session, entry, challengedAt)
  const verdict = verifyEd25519(text, signature, publicKeyFromBase64(entry.public_key))
  if (!verdict.valid) {
    session.warn(`The proof is not valid: ${verdict.reason}.\n`)
    return exitCodes.refused
  }
  return await change(session, input, entry, { command: 'platforms add', subject: entry.platform })
}

/** The entry remains, so that old receipts can be verified. */
export async function revokePlatform(session: Session, input: Input): Promise<number> {
  const slug = input.required('platform')
  const reason = input.required('reason')
  const platforms = readPlatforms(platformsPath(input.text('data')))
  const found = platforms.find((entry) => entry.platform === slug)
  if (found === undefined || found.revoked_at !== undefined) {
    session.warn('No such platform, or it is already revoked.\n')
    return exitCodes.refused
  }
  const revoked = { ...found, revoked_at: isoTime(session.clock.now()) }
  const act = { command: 'platforms revoke', subject: slug, reason }
  return await change(session, input, revoked, act)
}

/** The text contains the ledger, the platform, the key and the time. */
function challengeText(session: Session, entry: Platform, at: string): string {
  const { SERVICE_NAME } = settingsOf(session)
  return `${SERVICE_NAME}-platform-v1:${entry.platform}:${entry.public_key}:${at}`
}

async function newEntry(input: Input, nowMs: number): Promise<Platform> {
  const fields = {
    platform: input.required('platform'),
    name: input.required('name'),
    public_key: input.required('public-key'),
    rails: [...input.list('rail')],
    added_at: isoTime(nowMs),
  }
  const entry = parseOrUsageError(platform, fields, '')
  orUsageError(SigningKeyError, () => publicKeyFromBase64(entry.public_key), '--public-key: ')
  const { rails } = await loadReference(dataDir(input.text('data')))
  const unknown = entry.rails.find((rail) => !rails.has(rail))
  if (unknown !== undefined) throw new UsageError(`there is no rail ${unknown}`)
  const platforms = readPlatforms(platformsPath(input.text('data')))
  if (
    reserved.has(entry.platform) ||
    platforms.some((known) => known.platform === entry.platform)
  ) {
    throw new UsageError('this slug belongs to another key: choose a new slug for a new key')
  }
  if (platforms.some((known) => known.public_key === entry.public_key)) {
    throw new UsageError('this key is already in the registry')
  }
  return entry
}

/** Adds or replaces the entry of a platform, logs the act and prints the entry. */
async function change(
  session: Session,
  input: Input,
  entry: Platform,
  act: Parameters<typeof logAct>[2],
): Promise<number> {
  const path = platformsPath(input.text('data'))
  const others = readPlatforms(path).filter(({ platform: slug }) => slug !== entry.platform)
  const platforms = [...others, entry].toSorted((a, b) => (a.platform < b.platform ? -1 : 1))
  await replaceFile(path, `${JSON.stringify({ platforms }, null, 2)}\n`, 0o644)
  await logAct(session, settingsOf(session), act)
  session.warn('A running service reloads its registry within seconds.\n')
  session.print(entry)
  return exitCodes.ok
}
