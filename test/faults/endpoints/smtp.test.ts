/** Misbehaving mail servers: sending fails with a reason, in bounded time and memory. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'

import { describe, expect, test } from 'vitest'

import { createSmtpMail } from '../../../src/mail/smtp.ts'
import { listen } from '../../support/listen.ts'
import { requestJson } from '../../support/requests.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { useServices } from '../../support/use-service.ts'

allowSlowTests('waits for time limits of clients')

type Answer = string | null | ((socket: Socket) => void)
/**
 * The answer to each command of a client, and to `greeting`; null sends no answer. `line` is a line of an e-mail, `.` is its
 * end.
 */
type Script = (command: string) => Answer

const answers: Readonly<Record<string, Answer>> = {
  greeting: '220 mail.test',
  DATA: '354 go on',
  line: null,
}
const polite: Script = (command) => (command in answers ? (answers[command] ?? null) : '250 fine')
const but =
  (at: string, answer: Answer): Script =>
  (command) =>
    command === at ? answer : polite(command)

const hangUp = (socket: Socket): void => void socket.destroy()
const then =
  (text: string, next: (socket: Socket) => void) =>
  (socket: Socket): void => {
    socket.write(text, () => next(socket))
  }
/** Sends the text again and again, so that the server is never silent. */
const drip =
  (text: string) =>
  (socket: Socket): void => {
    const timer = setInterval(() => socket.write(text), 100)
    socket.once('close', () => clearInterval(timer))
  }
const flood =
  (text: string) =>
  (socket: Socket): void => {
    const chunk = Buffer.from(text.repeat(2 ** 20 / text.length))
    let sent = 0
    const more = (): void => {
      sent += 1
      if (sent < 1024 && !socket.destroyed) socket.write(chunk, more)
    }
    more()
  }

const servers: readonly { readonly name: string; readonly script: Script }[] = [
  { name: 'says nothing', script: but('greeting', null) },
  { name: 'stalls after the e-mail', script: but('.', null) },
  { name: 'is no mail server', script: but('greeting', 'HTTP/1.1 200 OK') },
  { name: 'is too busy', script: but('greeting', '421 too busy') },
  { name: 'refuses the recipient', script: but('RCPT', '550 no such user') },
  { name: 'refuses the e-mail at its end', script: but('.', '554 no') },
  { name: 'answers without a code', script: but('MAIL', '<html>') },
  { name: 'hangs up instead of a greeting', script: but('greeting', hangUp) },
  { name: 'hangs up after its greeting', script: but('greeting', then('220 a\r\n', hangUp)) },
  { name: 'hangs up within its answer', script: but('EHLO', then('250-a\r\n250', hangUp)) },
  { name: 'hangs up after the sender', script: but('MAIL', then('250 a\r\n', hangUp)) },
  { name: 'hangs up within the e-mail', script: but('line', hangUp) },
  { name: 'hangs up after the e-mail', script: but('.', hangUp) },
  { name: 'answers a gigabyte of lines', script: but('EHLO', flood('250-0123456789\r\n')) },
  { name: 'answers a gigabyte in a line', script: but('.', flood('a')) },
  { name: 'greets with a gigabyte', script: but('greeting', flood('a')) },
]

/** A server that is never silent ends at the time limit of the whole e-mail. */
const drips: readonly { readonly name: string; readonly script: Script }[] = [
  { name: 'its greeting', script: but('greeting', drip('220-x\r\n')) },
  { name: 'a greeting without an end', script: but('greeting', drip('2')) },
  { name: 'its extensions', script: but('EHLO', drip('250-x\r\n')) },
  { name: 'its answer to the sender', script: but('MAIL', drip('2')) },
  { name: 'its answer to the e-mail', script: but('.', drip('250-x\r\n')) },
]

async function startMailServer(serve: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    serve(socket)
  })
  const port = await listen(server)
  const stop = async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
  /** Bytes that clients have accepted. */
  const bytesSent = () =>
    [...sockets].reduce((sum, socket) => sum + socket.bytesWritten - socket.writableLength, 0)
  return { url: `smtp://127.0.0.1:${port}`, sockets, bytesSent, stop }
}

async function allClosed(sockets: ReadonlySet<Socket>): Promise<void> {
  const open = [...sockets].filter(({ closed }) => !closed)
  await Promise.all(open.map((socket) => new Promise((resolve) => socket.once('close', resolve))))
}

function follow(script: Script): (socket: Socket) => void {
  return (socket) => {
    let inEmail = false
    let buffer = ''
    const say = (command: string): void => {
      const answer = script(command)
      if (typeof answer === 'string') socket.write(`${answer}\r\n`)
      else answer?.(socket)
    }
    say('greeting')
    socket.on('data', (chunk: Buffer) => {
      buffer += chunk.toString('latin1')
      for (let end = buffer.indexOf('\r\n'); end >= 0; end = buffer.indexOf('\r\n')) {
        const line = buffer.slice(0, end)
        buffer = buffer.slice(end + 2)
        const command = inEmail && line !== '.' ? 'line' : (line.split(' ')[0] ?? '')
        if (command === 'line') {
          say(command)
          continue
        }
        inEmail = command === 'DATA'
        say(command)
      }
    })
  }
}

const email = { to: 'worker@example.org', subject: 'Your code', text: '123456' }

describe.concurrent('sending an e-mail', () => {
  test.for(servers)('mail fails if a server $name', async ({ script }, { expect: expectHere }) => {
    const server = await startMailServer(follow(script))
    const send = createSmtpMail(server.url, 'ledger@example.org')
    await expectHere(send(email)).rejects.toThrow(/\w{3}/)
    await allClosed(server.sockets)
    expectHere(server.bytesSent()).toBeLessThan(64 * 2 ** 20)
    await server.stop()
  })

  test.for(drips)(
    'mail fails if a server drips $name',
    async ({ script }, { expect: expectHere }) => {
      const server = await startMailServer(follow(script))
      const send = createSmtpMail(server.url, 'ledger@example.org', 2000)
      await expectHere(send(email)).rejects.toThrow(
        'The mail server took longer than 2 s to accept an e-mail',
      )
      await allClosed(server.sockets)
      await server.stop()
    },
  )
})

const { start } = useServices()

test('e-mails to a server that answers byte by byte time out and free their slots', async () => {
  const server = await startMailServer(follow(but('EHLO', drip('250-x\r\n'))))
  const mail = createSmtpMail(server.url, 'ledger@example.org', 2000)
  const service = await start({
    trustedProxies: ['127.0.0.1'],
    actions: { outbound: { mail } },
  })
  let senders = 0
  const requestCode = async (): Promise<unknown> => {
    senders += 1
    const headers = { 'X-Forwarded-For': `198.51.100.${senders}` }
    const body = { email: `agent-${senders}@example.com`, display_name: 'Agent' }
    return (await requestJson(service, '/api/v1/claim', { headers, body })).body
  }
  const failed = { code: 'unavailable', details: 'The e-mail could not be sent' }
  const batch = Array.from({ length: 32 })
  for (const _ of [1, 2]) {
    const answers = await Promise.all(batch.map(requestCode))
    for (const body of answers) expect(body).toMatchObject(failed)
  }
  await allClosed(server.sockets)
  await service.stop()
  await server.stop()
})
