import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SMTPServer } from 'smtp-server'
import type { SMTPServerOptions } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'

import { createOutbox } from '../../src/mail/outbox.ts'
import { createSmtpMail } from '../../src/mail/smtp.ts'

interface Received {
  readonly from: string
  readonly to: readonly string[]
  readonly user: unknown
  readonly message: string
}

async function mailServer(options: SMTPServerOptions = {}) {
  const received: Received[] = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) => {
      if (username === 'ledger' && password === 'p@ss/word') done(null, { user: username })
      else done(new Error('535 no'))
    },
    onData: (stream, { envelope, user: userOf }, done) => {
      const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
      const to = envelope.rcptTo.map(({ address }) => address)
      const user: unknown = userOf
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        received.push({ from, to, user, message: Buffer.concat(chunks).toString('utf8') })
        done()
      })
    },
    ...options,
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve())
  })
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
      }),
  )
  const bound = server.server.address()
  if (bound === null || typeof bound === 'string') throw new Error('no TCP address')
  return { received, address: `127.0.0.1:${bound.port}` }
}

const email = {
  to: 'worker@ledger.example',
  subject: 'Your code for the Agent Income Ledger',
  text: 'Your code is 012345.\n\nZoë\n',
}

test('delivers a message to the mail server with its envelope and text', async () => {
  const server = await mailServer()
  const mail = createSmtpMail(`smtp://${server.address}`, 'ledger@ledger.example')
  await mail(email)
  expect(server.received).toMatchObject([{ from: 'ledger@ledger.example', to: [email.to] }])
  const message = server.received[0]?.message ?? ''
  expect(message).toMatch(/^From: ledger@ledger\.example\r?$/m)
  expect(message).toMatch(/^To: worker@ledger\.example\r?$/m)
  expect(message).toMatch(/^Subject: Your code for the Agent Income Ledger\r?$/m)
  expect(message).toContain('Your code is 012345.')
})

test('logs in to the mail server with the percent-decoded user and password of the URL', async () => {
  const server = await mailServer({ authOptional: false })
  await createSmtpMail(`smtp://ledger:p%40ss%2Fword@${server.address}`, 'l@ledger.example')(email)
  expect(server.received).toMatchObject([{ user: 'ledger' }])
  const wrong = createSmtpMail(`smtp://ledger:wrong@${server.address}`, 'l@ledger.example')
  await expect(wrong(email)).rejects.toThrow()
  expect(server.received).toHaveLength(1)
})

test('treats an e-mail address as one recipient, whatever it contains', async () => {
  const server = await mailServer()
  const mail = createSmtpMail(`smtp://${server.address}`, 'ledger@ledger.example')
  const tricks = ['a@ledger.example, b@ledger.example', 'a@ledger.example\r\nBcc: c@ledger.example']
  for (const to of tricks) await mail({ ...email, to }).catch(() => undefined)
  expect(server.received.flatMap(({ to }) => to)).not.toContain('b@ledger.example')
  expect(server.received.flatMap(({ to }) => to)).not.toContain('c@ledger.example')
})

test('writes messages to a folder in order, readable by the owner alone, without a mail server', async () => {
  const root = await mkdtemp(join(tmpdir(), 'ledger-mail-'))
  onTestFinished(() => rm(root, { recursive: true }))
  const dir = join(root, 'outbox')
  let nowMs = Date.UTC(2026, 10, 21, 6)
  let count = 0
  const mail = createOutbox(dir, 'ledger@ledger.example', {
    clock: { now: () => (nowMs += 1000) },
    random: { bytes: (length) => new Uint8Array(length).fill((count += 1)) },
  })
  await mail(email)
  await mail({ ...email, to: 'second@ledger.example' })
  const names = (await readdir(dir)).toSorted()
  expect(names).toHaveLength(2)
  const [first = '', second = ''] = names
  expect(first).toMatch(/^2026-11-21T06-00-01\.000Z-[0-9a-f]{12}\.eml$/)
  expect((await stat(join(dir, first))).mode & 0o777).toBe(0o600)
  expect(await readFile(join(dir, first), 'utf8')).toMatch(/^To: worker@ledger\.example$/m)
  expect(await readFile(join(dir, second), 'utf8')).toMatch(/^To: second@ledger\.example$/m)
})
