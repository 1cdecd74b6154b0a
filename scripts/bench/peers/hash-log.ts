/** `<url>`: downloads the entries of a log and hashes each of them, without any other check. */
import { leafHash } from '../../../src/core/tlog/merkle.ts'
import { tilePath, tileWidth, unpackEntries } from '../../../src/core/tlog/tiles.ts'

const [url = ''] = process.argv.slice(2)
const read = async (file: string) => await (await fetch(`${url}/${file}`)).arrayBuffer()
const size = Number(
  Buffer.from(await read('checkpoint'))
    .toString()
    .split('\n')[1],
)
for (let at = 0; at * tileWidth < size; at += 1) {
  const width = Math.min(tileWidth, size - at * tileWidth)
  const bytes = new Uint8Array(await read(tilePath({ level: 'entries', at, width })))
  for (const entry of unpackEntries(bytes) ?? []) leafHash(entry)
}
