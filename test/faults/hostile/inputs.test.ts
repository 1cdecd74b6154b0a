/** Sends each hostile input. Bytes after a refused request are never read as a request. */
import { expect, test } from 'vitest'

import { open, send } from '../../support/raw-http.ts'
import { countRows } from '../../support/requests.ts'
import { useService } from '../../support/use-service.ts'
import { inputs, last, smuggled } from './inputs.ts'
import { answerProblems } from './invariants.ts'
import { answersTo, readable } from './wire.ts'

const service = useService({ per: 'file' })

const cases = Object.entries(inputs).flatMap(([answer, group]) =>
  Object.entries(group).map(([name, bytes]) => ({ name, bytes, answer })),
)

test.each(cases)('the input $name is answered with $answer', async ({ bytes, answer }) => {
  const before = await countRows(service, 'feedback')
  // Bytes behind the end of a connection would be a second input.
  const end = bytes.includes(last) ? '' : smuggled
  const answers = await answersTo(service.address, bytes + end)
  const seen = answers.map((one) => {
    const code = /"code":"(\w+)"/.exec(readable(one))?.[1]
    return code === undefined ? String(one.status) : `${one.status} ${code}`
  })
  expect(seen.join(', ')).toMatch(new RegExp(`^(?:${answer})$`))
  for (const one of answers) {
    expect(answerProblems({ method: 'POST', bytes: Buffer.from('') }, one)).toEqual([])
    if (one.status >= 400) expect(readable(one)).not.toMatch(/evil|passwd|Secret/)
  }
  if (/^4\d\d \w+$/.test(answer)) expect(answers[0]?.headers.get('connection')).toBe('close')
  const written = seen.includes('201') ? 1 : 0
  expect(await countRows(service, 'feedback')).toBe(before + written)
})

test('a request that is cut at any byte writes nothing', async () => {
  const before = await countRows(service, 'feedback')
  for (let at = 1; at < smuggled.length; at += 3) {
    const socket = await open(service.address)
    const gone = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => undefined)
    socket.write(smuggled.slice(0, at), () => {
      if (at % 2 === 0) socket.resetAndDestroy()
      else socket.destroy()
    })
    await gone
  }
  expect(await countRows(service, 'feedback')).toBe(before)
})

test('after all inputs the service answers as before and has logged no error', async () => {
  for (const path of ['/api/v1/rails', '/api/v1/health', '/api/v1/jobs']) {
    expect((await send(service.address, `GET ${path}`)).status).toBe(200)
  }
  const [written] = await answersTo(service.address, smuggled)
  expect(written?.status).toBe(201)
  expect(service.lines().filter(({ level }) => level === 'error')).toEqual([])
})
