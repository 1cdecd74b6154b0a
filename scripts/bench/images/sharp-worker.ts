/** `<file>`: a JSON array of SVG texts, each made a PNG by sharp alone. Prints the milliseconds of each. */
import { readFileSync } from 'node:fs'

import sharp from 'sharp'
import { z } from 'zod'

const [file = ''] = process.argv.slice(2)
const svgs = z.array(z.string()).parse(JSON.parse(readFileSync(file, 'utf8')))
// The first one loads the fonts, as in the service.
await sharp(Buffer.from(svgs[0] ?? '', 'utf8'))
  .png()
  .toBuffer()
const ms: number[] = []
for (const svg of svgs) {
  const startedMs = performance.now()
  await sharp(Buffer.from(svg, 'utf8')).png().toBuffer()
  ms.push(performance.now() - startedMs)
}
process.stdout.write(`${JSON.stringify({ ms })}\n`)
