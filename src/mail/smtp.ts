import type { Mail } from './mail.ts'

const TIMEOUT_MS = 8000

/**
 * Hands letters to the server of an `smtp:` or `smtps:` address. One connection per letter, TLS wherever
 * the server offers it, nothing that a letter could name is fetched or read from disk.
 */
export function createSmtpMail(smtpUrl: string, from: string): Mail {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl)
  const secure = protocol === 'smtps:'
  const options = {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    ...(username === ''
      ? {}
      : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  return async ({ to, subject, text }) => {
    // Loaded where a letter is sent: its forty files take a twentieth of a second of every start.
    const { createTransport } = await import('nodemailer')
    // An object, not a header line: an address is never parsed for more than itself.
    await createTransport(options).sendMail({ from, to: { name: '', address: to }, subject, text })
  }
}
