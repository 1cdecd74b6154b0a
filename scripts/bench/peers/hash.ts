/** `<url> [<file>…]`: downloads files of lines, or all entries of a log, and hashes each of them, without any other check. */
import { z } from 'zod'

import { sha256Hex } from '../../../src/auth/messages.ts'
import { leafHash } from '../../../src/core/tlog/merkle.ts'
import { tilePath, tileWidth, unpackEntries } from '../../../src/core/tlog/tiles.ts'

const [url = '', ...files] = process.argv.slice(2)
const read = async (file: string) =>
  Buffer.from(await (await fetch(`${url}/${file}`)).arrayBuffer())
for (const file of files) {
  const text = (await read(file)).toString()
  sha256Hex(text)
  for (const line of z.array(z.unknown()).catch([]).parse(JSON.parse(text))) sha256Hex(String(line))
}
const checkpoint = files.length > 0 ? '' : (await read('checkpoint')).toString()
const size = Number(checkpoint.split('\n')[1] ?? 0)
for (let at = 0; at * tileWidth < size; at += 1) {
  const width = Math.min(tileWidth, size - at * tileWidth)
  const bytes = new Uint8Array(await read(tilePath({ level: 'entries', at, width })))
  for (const entry of unpackEntries(bytes) ?? []) leafHash(entry)
}
