/** A log in memory, with every file that c2sp.org/tlog-tiles names, for tests of its readers. */
import { noteSigner } from '../../src/auth/notes.ts'
import type { NoteSigner } from '../../src/auth/notes.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { checkpointText, formatProof } from '../../src/core/tlog/checkpoint.ts'
import { inclusionProof, leafHash, rootOf } from '../../src/core/tlog/merkle.ts'
import { formatKey, formatNote, keyTitle } from '../../src/core/tlog/note.ts'
import { growTiles, nodesOf, packEntries, tilePath, tileWidth } from '../../src/core/tlog/tiles.ts'
import type { ReadTile } from '../../src/core/tlog/tiles.ts'
import { systemClock } from '../../src/runtime/runtime.ts'
import { serveDuringTest } from './local-server.ts'
import type { Cosigner } from './witness.ts'

const origin = 'ledger.test/log'
export const logSigner = noteSigner(origin, signingKeyFromSeed(new Uint8Array(32).fill(3)))
export const logVkey = formatKey(logSigner.key)
export const logKeyTitle = keyTitle(logSigner.key)

/** A clock at the end of the day of the test entries. */
export const logClock = { ...systemClock, now: () => Date.UTC(2026, 10, 2) }

/** `count` receipts with the indexes from `from` on, one a second. */
export const testEntries = (from: number, count: number): readonly object[] =>
  Array.from({ length: count }, (_, at) => ({
    v: 1,
    kind: 'receipt',
    at: new Date(Date.UTC(2026, 10, 1) + (from + at) * 1000).toISOString(),
    id: `rcp_${from + at}`,
    sha256: 'ab'.repeat(32),
  }))

export type TestLog = ReturnType<typeof createTestLog>

export function createTestLog(signer: NoteSigner = logSigner) {
  const files = new Map<string, Uint8Array>()
  const tiles = new Map<string, Uint8Array>()
  const leaves: Uint8Array[] = []
  const readTile: ReadTile = ({ level, at }) => {
    const hashes = tiles.get(`${level}/${at}`)
    return hashes === undefined ? Promise.reject(new Error('no tile')) : Promise.resolve(hashes)
  }

  function sign(size: number, root: Uint8Array, witnesses: readonly Cosigner[] = []): string {
    const text = checkpointText({ origin, size, root })
    const time = Date.UTC(2026, 10, 2) / 1000
    const cosignatures = witnesses.map((witness) => witness.cosign(text, time))
    const note = formatNote({ text, signatures: [signer.sign(text), ...cosignatures] })
    files.set('checkpoint', Buffer.from(note))
    return note
  }

  return {
    files,
    sign,
    /** Appends entries, objects or bytes, and signs a checkpoint. Returns its note. */
    async grow(entries: readonly (object | Uint8Array)[]): Promise<string> {
      const bytes = entries.map((entry) =>
        entry instanceof Uint8Array ? entry : Buffer.from(canonicalize(entry)),
      )
      const grown = await growTiles(leaves.length, bytes.map(leafHash), readTile)
      leaves.push(...bytes)
      for (const { hashes, ...tile } of grown) {
        tiles.set(`${tile.level}/${tile.at}`, hashes)
        files.set(tilePath(tile), hashes)
        const { level, at, width } = tile
        if (level > 0) continue
        const some = leaves.slice(at * tileWidth, at * tileWidth + width)
        files.set(tilePath({ level: 'entries', at, width }), packEntries(some))
      }
      return sign(leaves.length, await rootOf(leaves.length, nodesOf(leaves.length, readTile)))
    },
    /** Of the newest checkpoint. */
    async prove(index: number, withEntry = true): Promise<string> {
      const hashes = await inclusionProof(index, leaves.length, nodesOf(leaves.length, readTile))
      const checkpoint = Buffer.from(files.get('checkpoint') ?? []).toString()
      const entry = withEntry ? (leaves[index] ?? null) : null
      return formatProof({ entry, index, hashes, checkpoint })
    },
  }
}

/** Serves files of a log below `/log`, and `more` at other paths. Returns the address of the site and the requested paths. */
export async function serveTestLog(
  log: () => Pick<TestLog, 'files'>,
  more: Readonly<Record<string, () => string | undefined>> = {},
) {
  const requested: string[] = []
  const url = await serveDuringTest(({ url: path = '' }, response) => {
    requested.push(path)
    const file = path === '/log/vkey' ? `${logVkey}\n` : log().files.get(path.replace('/log/', ''))
    const found = file ?? more[path]?.()
    if (found === undefined) response.writeHead(404).end('{}')
    else response.end(found)
  })
  return { url, requested }
}
