import { z } from 'zod'

import { parameter, routesOf, text } from '../route.ts'

const { live } = routesOf('Log')

const plain = 'text/plain; charset=utf-8'
const noLog = { description: 'The log has no checkpoint yet.' }

/** Addresses of c2sp.org/tlog-tiles. */
export const logRoutes = {
  getLogKey: live({
    path: '/log/vkey',
    summary: 'Get the key of the log',
    description:
      'The verifier key (c2sp.org/signed-note): name of the log, key id, and Ed25519 key in base64.',
    answers: { 200: text('The key.', plain) },
  }),
  getLogCheckpoint: live({
    path: '/log/checkpoint',
    summary: 'Get the newest checkpoint of the log',
    description:
      'A signed note (c2sp.org/tlog-checkpoint) with name, size and root hash of the log, and the cosignatures of witnesses.',
    answers: { 200: text('The checkpoint.', plain), 404: noLog },
  }),
  getLogPolicy: live({
    path: '/log/policy',
    summary: 'Get the policy of the log',
    description:
      'c2sp.org/tlog-policy: the key of the log, its witnesses, and how many of them make a checkpoint count as witnessed. `quorum none` means that no witness is required to cosign.',
    answers: { 200: text('The policy.', plain) },
  }),
  getSnapshotProof: live({
    path: '/snapshot.json.tlog-proof',
    summary: 'Get the proof that the manifest is in the log',
    description:
      'c2sp.org/tlog-proof of the entry `snapshot` whose `sha256` is that of `/snapshot.json`.',
    answers: {
      200: text('The proof.', plain),
      404: { description: 'The manifest is not in the published log yet.' },
    },
  }),
  getLogTile: live({
    path: '/log/tile/{level}/{tile}',
    summary: 'Get a tile of the log',
    description:
      'c2sp.org/tlog-tiles: `<level>/<number>` has 256 SHA-256 hashes, `entries/<number>` has 256 entries, each after its length in two bytes. The path of a partial tile ends with `.p/<width>`. Entries are canonical JSON; /docs/transparency describes them.',
    params: {
      level: parameter(z.string().max(7), 'A level, 0 or higher, or `entries`.', 'entries'),
      tile: parameter(z.string().max(40), 'The number, and the width if it is not 256.', '000'),
    },
    answers: {
      200: text('The tile.', 'application/octet-stream'),
      404: { description: 'The log does not have this tile, at least not yet.' },
    },
  }),
}
