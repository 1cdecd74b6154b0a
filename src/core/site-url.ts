const PLACE = '{SITE_URL}'

export function withSiteUrl(address: string, siteUrl: string): string {
  return address.startsWith(`${PLACE}/`) ? siteUrl + address.slice(PLACE.length) : address
}
