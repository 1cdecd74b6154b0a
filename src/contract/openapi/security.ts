/** How partners say who they are. */
import type { OpenApiJson, OpenApiObject } from './json.ts'

const signedMessage =
  'The signature covers `<service>-partner-auth-v1:{TIMESTAMP}:{METHOD}:{PATH}`, or better `<service>-partner-auth-v2:{TIMESTAMP}:{METHOD}:{PATH}:{RAW_SHA256}` with the lower-case hex SHA-256 of the raw body.'

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
    description: 'The wallet that signed.',
  },
  partnerSignature: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Partner-Signature',
    description: signedMessage,
  },
}

/** Either header form; both need the time that is signed. */
export const partnerSecurity: OpenApiJson[] = [
  { partnerBearer: [] },
  { partnerWallet: [], partnerSignature: [] },
]
