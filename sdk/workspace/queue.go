package workspace

import "sync"

// job is work that any worker may take: files of a directory whose descriptors
// are open, or names of subdirectories to enter.
type job struct {
	dir     *dir
	files   []dirent
	subdirs []string
}

// queue hands jobs to the workers. Subdirectories are taken from the end, depth
// first, which bounds how many wait. Files are queued only for a worker that
// idles.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	jobs    []job
	busy    int
	idle    int
	failed  bool
}

// next waits for a job and marks the caller busy. It returns false when all
// work is done or a worker has failed.
func (q *queue) next() (job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.idle++
	defer func() { q.idle-- }()
	for !q.failed {
		if last := len(q.jobs) - 1; last >= 0 {
			j := &q.jobs[last]
			q.busy++
			if n := len(j.subdirs); n > 1 {
				one := job{dir: j.dir, subdirs: j.subdirs[n-1:]}
				j.subdirs = j.subdirs[:n-1]
				return one, true
			}
			one := *j
			q.jobs[last] = job{}
			q.jobs = q.jobs[:last]
			return one, true
		}
		if q.busy == 0 {
			break
		}
		q.changed.Wait()
	}
	q.changed.Broadcast()
	return job{}, false
}

func (q *queue) done(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy--
	q.failed = q.failed || err != nil
	if q.failed || q.busy == 0 && len(q.jobs) == 0 {
		q.changed.Broadcast()
	}
}

func (q *queue) push(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, j)
	q.changed.Broadcast()
}

// offer queues a job if a worker waits for one.
func (q *queue) offer(j job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.idle <= len(q.jobs) {
		return false
	}
	q.jobs = append(q.jobs, j)
	q.changed.Signal()
	return true
}
