import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Clock, Random } from '../core/deps.ts'
import type { Mail } from './mail.ts'

/** Writes `.eml` files (mode 0600, named by time), for an installation without a mail server. */
export function createOutbox(
  dir: string,
  from: string,
  deps: { readonly clock: Pick<Clock, 'now'>; readonly random: Pick<Random, 'bytes'> },
): Mail {
  return async ({ to, subject, text }) => {
    const date = new Date(deps.clock.now())
    const { createTransport } = await import('nodemailer')
    const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
    const { message } = await transport.sendMail({
      from,
      to: { name: '', address: to },
      subject,
      text,
      date,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    if (!Buffer.isBuffer(message)) throw new Error('the e-mail was not built in memory')
    await mkdir(dir, { recursive: true, mode: 0o700 })
    const unique = Buffer.from(deps.random.bytes(6)).toString('hex')
    const name = `${date.toISOString().replaceAll(':', '-')}-${unique}.eml`
    const temporary = join(dir, `.${name}`)
    await writeFile(temporary, message, { mode: 0o600, flag: 'wx' })
    await rename(temporary, join(dir, name))
  }
}
