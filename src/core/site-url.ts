const PLACE = '{SITE_URL}'

export function isOwnAddress(address: string): boolean {
  return address.startsWith(`${PLACE}/`)
}

/** Fills in the ledger's own URL, which has no trailing slash. */
export function withSiteUrl(address: string, siteUrl: string): string {
  return isOwnAddress(address) ? siteUrl + address.slice(PLACE.length) : address
}
