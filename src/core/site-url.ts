const PLACE = '{SITE_URL}'

export function isOwnAddress(address: string): boolean {
  return address.startsWith(`${PLACE}/`)
}

export function withSiteUrl(address: string, siteUrl: string): string {
  return isOwnAddress(address) ? siteUrl + address.slice(PLACE.length) : address
}
