import { secondMs } from '../core/time.ts'
import { TimeoutError, withTimeout } from '../outbound/timeout.ts'
import type { Mail } from './mail.ts'

const STEP_TIMEOUT_MS = 8 * secondMs
/** Limit of the whole delivery, below the timeout of a proxy in front of the service. */
const DELIVERY_TIMEOUT_MS = 20 * secondMs

/** Uses one connection per message, with TLS if the server offers it. Rejects after `timeoutMs`, DNS included. */
export function createSmtpMail(
  smtpUrl: string,
  from: string,
  timeoutMs = DELIVERY_TIMEOUT_MS,
): Mail {
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
    // Closes the socket even if the server does not.
    socketCloseTimeout: 0,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  return async ({ to, subject, text }) => {
    // Loaded on first use: its 40 files take 50 ms.
    const { createTransport } = await import('nodemailer')
    try {
      await withTimeout({ timeoutMs }, async (signal) => {
        // An object, so that the address is not parsed as several recipients.
        const message = { from, to: { name: '', address: to }, subject, text, signal }
        await createTransport(options).sendMail(message)
      })
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error
      throw new Error(
        `The mail server took longer than ${timeoutMs / secondMs} s to accept an e-mail`,
        {
          cause: error,
        },
      )
    }
  }
}
