import type { OpenApiJson, OpenApiObject } from './json.ts'

const signedMessage =
  'The signature covers `<service>-partner-auth-v1:{TIMESTAMP}:{METHOD}:{PATH}`, or preferably `<service>-partner-auth-v2:{TIMESTAMP}:{METHOD}:{PATH}:{RAW_SHA256}` with the lower-case hex SHA-256 of the raw body.'

export const securitySchemes: OpenApiObject = {
  partnerBearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: '<wallet>:<signature>',
    description: `\`Authorization: Bearer <wallet>:<signature>\`. ${signedMessage}`,
  },
  partnerWallet: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Partner-Wallet',
    description: 'The signing wallet.',
  },
  partnerSignature: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Partner-Signature',
    description: signedMessage,
  },
}

/** Lists both header forms; each of them requires the signed time. */
export const partnerSecurity: OpenApiJson[] = [
  { partnerBearer: [] },
  { partnerWallet: [], partnerSignature: [] },
]
