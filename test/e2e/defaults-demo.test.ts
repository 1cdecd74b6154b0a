import { join } from 'node:path'

import { expect, test } from 'vitest'

import { allowSlowTests } from '../support/slow-tests.ts'
import { useClone } from './clone.ts'

allowSlowTests('fills a demo ledger')

const { dir, start, stop, url } = useClone()

test('npm run demo and npm run dev publish in a fresh clone', async () => {
  // The second finds the ledger that the first has filled.
  for (const script of ['demo', 'dev']) {
    const demo = start(script, { DATA_DIR: join(dir(), '.dev') })
    await demo.says('"message":"listening"')
    await demo.says('"message":"serving"')
    expect(await (await fetch(url('/'))).text()).toContain('Demo ledger: ')
    await stop(demo)
  }
})
