export interface EmailMessage {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Resolves once the message is accepted for delivery; otherwise rejects. */
export type Mail = (message: EmailMessage) => Promise<void>
