/** Writes from 16 writers at once for ever; says the number of a row only once its write was answered. */
import { openDatabase } from '../../src/db/open.ts'

const [path = '', firstKey = '0'] = process.argv.slice(2)
const { write } = await openDatabase({ url: path })
let next = Number(firstKey)

async function writer(): Promise<never> {
  for (;;) {
    const key = String(next)
    next += 1
    await write(async (tx) => {
      await tx
        .insertInto('meta')
        .values({ key, value: 'x'.repeat(600) })
        .execute()
      await tx
        .insertInto('meta')
        .values({ key: `${key} twin`, value: '' })
        .execute()
    })
    process.stdout.write(`${key}\n`)
  }
}

await Promise.all(Array.from({ length: 16 }, writer))
