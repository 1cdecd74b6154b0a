/** E-mail that the service sends. Types only. */

export interface EmailMessage {
  readonly to: string
  readonly subject: string
  /** Plain text. */
  readonly text: string
}

/** Resolves once the message is accepted for delivery; rejects where it is not. */
export type Mail = (message: EmailMessage) => Promise<void>
