import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto'

/** A self-signed certificate for some host names (X.509 v3, RFC 5280). */
interface TestCertificate {
  readonly key: string
  readonly cert: string
}

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts)
  const { length } = body
  const size =
    length < 128
      ? Buffer.from([length])
      : length < 256
        ? Buffer.from([0x81, length])
        : Buffer.from([0x82, length >> 8, length & 255])
  return Buffer.concat([Buffer.from([tag]), size, body])
}
const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts)
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const time = (text: string) => der(0x18, Buffer.from(text))

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))
const commonName = sequence(
  der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from('Test authority')))),
)

export function testCertificate(hosts: readonly string[]): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const names = sequence(...hosts.map((host) => der(0x82, Buffer.from(host))))
  const basicConstraints = sequence(
    oid('551d13'),
    der(0x04, sequence(der(0x01, Buffer.from([255])))),
  )
  const altNames = sequence(oid('551d11'), der(0x04, names))
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    commonName,
    sequence(time('20200101000000Z'), time('21200101000000Z')),
    commonName,
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, sequence(basicConstraints, altNames)),
  )
  const signature = createSign('sha256').update(body).sign(privateKey)
  const certificate = sequence(body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature))
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return {
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  }
}
