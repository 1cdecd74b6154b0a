import { secondMs } from '../core/time.ts'
import { LateError, inTime } from '../outbound/in-time.ts'
import type { Mail } from './mail.ts'

/** For each step alone: the connection, the greeting, silence. */
const STEP_TIMEOUT_MS = 8 * secondMs
/** For all of them, as a server that says a little ever again is never silent. Less than a proxy waits for our answer. */
const LETTER_TIMEOUT_MS = 20 * secondMs

/**
 * Hands letters to the server of an `smtp:` or `smtps:` address. One connection per letter, TLS wherever
 * the server offers it, nothing that a letter could name is fetched or read from disk. A letter that is not taken within
 * `timeoutMs` (20 s unless told), from the look-up of the name to the last answer, is an error, and its socket is destroyed.
 */
export function createSmtpMail(smtpUrl: string, from: string, timeoutMs = LETTER_TIMEOUT_MS): Mail {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl)
  const secure = protocol === 'smtps:'
  const options = {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    ...(username === ''
      ? {}
      : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: STEP_TIMEOUT_MS,
    // Whoever was given up on keeps no socket open by not closing its end.
    socketCloseTimeout: 0,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  return async ({ to, subject, text }) => {
    // Loaded where a letter is sent: its forty files take a twentieth of a second of every start.
    const { createTransport } = await import('nodemailer')
    try {
      await inTime({ timeoutMs }, async (signal) => {
        // An object, not a header line: an address is never parsed for more than itself.
        const letter = { from, to: { name: '', address: to }, subject, text, signal }
        await createTransport(options).sendMail(letter)
      })
    } catch (error) {
      if (!(error instanceof LateError)) throw error
      throw new Error(`The mail server took longer than ${timeoutMs / secondMs} s over a letter`, {
        cause: error,
      })
    }
  }
}
