export interface WritesTables {
  used_messages: UsedMessagesTable
  idempotency_keys: IdempotencyKeysTable
}

export interface UsedMessagesTable extends FirstAnswerColumns {
  wallet: string
  message_sha256: string
}

export interface IdempotencyKeysTable extends FirstAnswerColumns {
  caller: string
  key: string
}

interface FirstAnswerColumns {
  /** SHA-256 over method, path and raw body. */
  request_sha256: string
  status: number
  answer: string
  expires_at: string
}
