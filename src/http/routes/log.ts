import type { ActionDeps } from '../../actions/deps.ts'
import { invalidField } from '../../actions/signed-body.ts'
import { ApiError } from '../../contract/errors.ts'
import { formatKey } from '../../core/tlog/note.ts'
import { policyText } from '../../core/tlog/policy.ts'
import { packEntries, parseTilePath, tileWidth } from '../../core/tlog/tiles.ts'
import { entriesBetween, findCheckpoint, proofOf, tilesIn } from '../../db/log.ts'
import type { Handlers } from '../handler-types.ts'

const forGood = 'public, max-age=31536000'
const contentType = 'application/octet-stream'

export function logHandlers(
  { database, ledgerLog: { signer, witnesses } }: Pick<ActionDeps, 'database' | 'ledgerLog'>,
  manifestSha256: () => string | undefined,
) {
  const { reader } = database
  return {
    getLogKey: async () =>
      await Promise.resolve({
        text: `${formatKey(signer.key)}\n`,
        cache: 'public, max-age=3600',
      }),
    getLogPolicy: async () =>
      await Promise.resolve({
        text: policyText(signer.key, witnesses),
        cache: 'public, max-age=3600',
      }),
    async getLogCheckpoint() {
      const published = await findCheckpoint(reader, 'published')
      if (published === null) throw new ApiError('not_found', 'The log has no checkpoint yet')
      return { text: published.note, cache: 'public, max-age=5' }
    },
    async getSnapshotProof() {
      const proof = await proofOf(reader, 'snapshot', manifestSha256() ?? '')
      if (proof === null)
        throw new ApiError('not_found', 'Not in the log yet; try again in a few seconds')
      return { text: proof, cache: 'public, max-age=5' }
    },
    async getEvidenceProof({ params: { sha256 } }) {
      const proof = await proofOf(reader, 'poll', sha256)
      if (proof === null) throw new ApiError('not_found', 'No poll in the log has this bundle')
      return { text: proof, cache: 'public, max-age=5' }
    },
    async getLogTile({ params }) {
      const tile = parseTilePath(`tile/${params.level}/${params.tile}`)
      if (tile === null) {
        throw invalidField(
          'tile',
          'is not the path of a tile, such as 0/000 or entries/x001/234.p/5',
        )
      }
      const size = (await findCheckpoint(reader, 'published'))?.size ?? 0
      const { level, at, width } = tile
      const inLevel = Math.floor(size / tileWidth ** (level === 'entries' ? 0 : level))
      const start = at * tileWidth
      // Tiles that readers can check against the published checkpoint.
      if (start + width > inLevel) throw new ApiError('not_found', `The log has ${size} entries`)
      if (level !== 'entries') {
        const hashes = await tilesIn(reader)({ level, at, width })
        return { bytes: Uint8Array.from(hashes), contentType, cache: forGood }
      }
      const texts = await entriesBetween(reader, start, start + width)
      const bytes = Uint8Array.from(packEntries(texts.map((text) => Buffer.from(text))))
      return { bytes, contentType, cache: forGood }
    },
  } satisfies Partial<Handlers>
}
