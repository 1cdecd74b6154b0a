/** Stands for the address of the ledger itself in authored addresses. */
const PLACE = '{SITE_URL}'

/** True where an authored address begins at the ledger itself. */
export function isOwnAddress(address: string): boolean {
  return address.startsWith(`${PLACE}/`)
}

/** The address with the ledger's own filled in. `siteUrl` has no slash at the end. */
export function withSiteUrl(address: string, siteUrl: string): string {
  return isOwnAddress(address) ? siteUrl + address.slice(PLACE.length) : address
}
