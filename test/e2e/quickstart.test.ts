/** The commands of the guide for beginners, against a ledger that has just been started. */
import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { execute } from '../support/command-line.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { newLedger, stop, useProgram } from './ledger.ts'

allowSlowTests('starts the compiled program')

const program = useProgram()
const guide = readFileSync(new URL('../../data/docs/quickstart.md', import.meta.url), 'utf8')
const samplesIn = (language: string) =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    ([, sample = '']) => sample,
  )
const [commands, scripts] = [samplesIn('sh'), samplesIn('ts')]
const filled = (sample: string, url: string) =>
  sample.replaceAll('{{site_url}}', url).replaceAll('{{example_rail}}', 'x402')

test('each command and each script of the quickstart is answered', async () => {
  const ledger = newLedger(program, { POLL: 'off' })
  const { service, url } = await ledger.start()
  await service.says('"message":"serving"')
  expect(commands.length).toBeGreaterThan(3)
  for (const command of commands) {
    const script = `curl() { command curl --fail "$@"; }\n${filled(command, url)}`
    const { code, out } = await execute('bash', ['-eo', 'pipefail', '-c', script], '/')
    expect([command, code]).toEqual([command, 0])
    expect([command, out.length > 0]).toEqual([command, true])
  }
  expect(scripts).toHaveLength(commands.length)
  for (const script of scripts) {
    const source = filled(script, url)
    const { code, out } = await execute(
      process.execPath,
      ['--input-type=module', '-e', source],
      '/',
    )
    expect([script, code, out.length > 0]).toEqual([script, 0, true])
  }
  await stop(service)
  ledger.remove()
})
