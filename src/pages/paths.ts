const pathIn = (folder: string) => (name: string) => `/${folder}/${name}`

export const railPath = pathIn('rails')
export const receiptPath = pathIn('receipts')
export const workerPath = pathIn('workers')
export const disputePath = pathIn('disputes')
export const jobPath = pathIn('jobs')
export const partnerPath = pathIn('partners')
export const pactPath = pathIn('pacts')
export const articlePath = pathIn('desk')
export const skillPath = pathIn('skills')
