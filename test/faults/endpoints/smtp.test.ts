/** A mail server that does wrong: the letter counts as not sent, with a reason, in bounded time and memory. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'

import { describe, expect, test } from 'vitest'

import { createSmtpMail } from '../../../src/mail/smtp.ts'

/** Answers each command of a client, greeting first, with what the table says; null says nothing more. */
type Script = (command: string) => string | null

const polite: Script = (command) =>
  command === 'DATA' ? '354 go on' : command === 'greeting' ? '220 mail.test' : '250 fine'
const but =
  (at: string, answer: string | null): Script =>
  (command) =>
    command === at ? answer : polite(command)

const servers: readonly { readonly name: string; readonly script: Script }[] = [
  { name: 'says nothing', script: but('greeting', null) },
  { name: 'stalls after the letter', script: but('.', null) },
  { name: 'is no mail server', script: but('greeting', 'HTTP/1.1 200 OK') },
  { name: 'is too busy', script: but('greeting', '421 too busy') },
  { name: 'takes no recipient', script: but('RCPT', '550 no such user') },
  { name: 'refuses the letter at its end', script: but('.', '554 no') },
  { name: 'answers what is no answer', script: but('MAIL', '<html>') },
]

async function listen(serve: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    serve(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const stop = async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
  return { url: `smtp://127.0.0.1:${address.port}`, sockets, stop }
}

function follow(script: Script): (socket: Socket) => void {
  return (socket) => {
    let inLetter = false
    let held = ''
    const say = (command: string): void => {
      const answer = script(command)
      if (answer !== null) socket.write(`${answer}\r\n`)
    }
    say('greeting')
    socket.on('data', (chunk: Buffer) => {
      held += chunk.toString('latin1')
      for (let end = held.indexOf('\r\n'); end >= 0; end = held.indexOf('\r\n')) {
        const line = held.slice(0, end)
        held = held.slice(end + 2)
        if (inLetter && line !== '.') continue
        const command = line.split(' ')[0] ?? ''
        inLetter = command === 'DATA'
        say(command)
      }
    })
  }
}

const letter = { to: 'worker@example.org', subject: 'Your code', text: '123456' }

describe.concurrent('a mail server that', () => {
  test.for(servers)('$name', async ({ script }, { expect: its }) => {
    const server = await listen(follow(script))
    const send = createSmtpMail(server.url, 'ledger@example.org')
    await its(send(letter)).rejects.toThrow(/\w{3}/)
    await server.stop()
  })
})

test('a mail server that greets for a gigabyte is hung up on', async () => {
  const chunk = Buffer.alloc(2 ** 20, 'a')
  let sent = 0
  const server = await listen((socket) => {
    const more = (): void => {
      if (sent >= 1024 || socket.destroyed) return
      sent += 1
      socket.write(chunk, more)
    }
    more()
  })
  const send = createSmtpMail(server.url, 'ledger@example.org')
  await expect(send(letter)).rejects.toThrow(/\w{3}/)
  expect(sent).toBeLessThan(64)
  await server.stop()
})
