/** The protocol of witnesses (c2sp.org/tlog-witness), over plain HTTP for a proxy in front. */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'

import { sha256Hex } from '../../../src/auth/messages.ts'
import { openCheckpoint } from '../../../src/auth/notes.ts'
import { InconsistentLogError } from '../../../src/client/log.ts'
import {
  NoteError,
  parseCheckpoint,
  parseHashes,
  parseNumber,
} from '../../../src/core/tlog/checkpoint.ts'
import type { OpenedCheckpoint } from '../../../src/core/tlog/checkpoint.ts'
import { isConsistent, isSame } from '../../../src/core/tlog/merkle.ts'
import { BrokenLogError } from './witness.ts'
import type { Witness } from './witness.ts'

const maxBodyBytes = 64 * 1024
const maxHashes = 63

interface Answer {
  readonly status: number
  readonly body: string
  readonly type?: string
}

const refused = (status: number, reason: string): Answer => ({ status, body: `${reason}\n` })

/** `onBroken` is called when what was submitted proves that the log breaks its promises. */
export function witnessServer(
  witness: Witness,
  warn: (text: string) => void,
  onBroken: (error: BrokenLogError) => void,
) {
  const monitored = `/${sha256Hex(witness.log.name)}/checkpoint`
  return createServer((request, response) => void respond(request, response))

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await answerTo(request).catch((error: unknown) => {
      warn(`${error instanceof Error ? error.message : String(error)}\n`)
      return refused(503, 'the log could not be read; try again later')
    })
    const { status, body, type = 'text/plain; charset=utf-8' } = answer
    response.writeHead(status, { 'Content-Type': type }).end(body)
  }

  async function answerTo(request: IncomingMessage): Promise<Answer> {
    const { method, url = '' } = request
    if (method === 'GET' && url === monitored) {
      const note = await witness.checkpoint()
      return note === null ? refused(404, 'nothing was cosigned yet') : { status: 200, body: note }
    }
    if (url !== '/add-checkpoint') return refused(404, 'POST /add-checkpoint')
    if (method !== 'POST') return refused(405, 'POST /add-checkpoint')
    const body = await readText(request)
    if (body === null) return refused(413, `send at most ${maxBodyBytes} bytes`)
    return await witness
      .inTurn(() => addCheckpoint(body))
      .catch((error: unknown) => {
        if (!(error instanceof BrokenLogError)) throw error
        onBroken(error)
        return refused(422, error.message.split('\n', 1)[0] ?? '')
      })
  }

  async function addCheckpoint(body: string): Promise<Answer> {
    const request = parseRequest(body)
    if (request === null) {
      return refused(
        400,
        'send `old <size>`, at most 63 hashes in base64, an empty line, and a checkpoint',
      )
    }
    const { old, hashes, note } = request
    if (note.split('\n', 1)[0] !== witness.log.name) {
      return refused(404, `this witness follows ${witness.log.name}`)
    }
    let submitted: OpenedCheckpoint
    try {
      submitted = openCheckpoint(note, witness.log)
    } catch (error) {
      if (error instanceof NoteError) return refused(403, error.message)
      throw error
    }
    if (old > submitted.size) return refused(400, 'the old size is larger than the checkpoint')
    const present = await witness.checkpoint()
    const known = present === null ? null : openCheckpoint(present, witness.log)
    const size = known?.size ?? 0
    if (old !== size) return { status: 409, body: `${size}\n`, type: 'text/x.tlog.size' }
    const older = known ?? { size: 0, root: Buffer.from(sha256Hex(''), 'hex') }
    if (!isConsistent(older, submitted, hashes)) {
      if (known?.size === submitted.size && !isSame(known.root, submitted.root)) {
        throw await witness.reportFork(new InconsistentLogError(known, submitted))
      }
      // It may be evidence of a fork.
      warn(`this checkpoint was submitted as continuing size ${size}:\n${note.slice(0, 1000)}\n`)
      return refused(422, `the proof does not show that the checkpoint continues size ${size}`)
    }
    const cosigned = await witness.follow(note)
    return { status: 200, body: cosigned.split('\n').slice(-2).join('\n') }
  }
}

function parseRequest(body: string) {
  const end = body.indexOf('\n\n')
  const [first = '', ...lines] = body.slice(0, Math.max(0, end)).split('\n')
  const old = parseNumber(/^old (.*)$/.exec(first)?.[1] ?? '')
  const hashes = parseHashes(lines)
  const note = body.slice(end + 2)
  if (old === null || hashes === null || hashes.length > maxHashes) return null
  return parseCheckpoint(note) === null ? null : { old, hashes, note }
}

async function readText(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request.iterator()) {
    if (!(chunk instanceof Buffer)) continue
    bytes += chunk.length
    if (bytes > maxBodyBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
